-- Filter, compute, and count letters.
CREATE STREAM q14 AS SELECT auction, bidder, 0.908 * price AS price,
    CASE WHEN CAST(FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'HH') AS INT) BETWEEN 8 AND 18 THEN 'dayTime'
         WHEN CAST(FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'HH') AS INT) <= 6 THEN 'nightTime'
         WHEN CAST(FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'HH') AS INT) >= 20 THEN 'nightTime'
         ELSE 'otherTime' END AS bidTimeType,
    dateTime, extra, LEN(extra) - LEN(REPLACE(extra, 'c', '')) AS c_counts
  FROM bid WHERE 0.908 * price > 1000000000 AND 0.908 * price < 50000000000;
