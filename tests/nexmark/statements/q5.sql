-- Which auctions have the most bids in the last 10 seconds? Counted every 2 seconds.
CREATE TABLE q5_counts AS SELECT 1 AS k, HISTOGRAM(CAST(auction AS STRING)) AS counts
  FROM bid WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 2 SECONDS) GROUP BY 1;
CREATE TABLE q5 AS SELECT k, ARRAY_MAX(MAP_VALUES(counts)) AS number,
    ARRAY_SORT(MAP_KEYS(FILTER(counts, (a, c) => c = ARRAY_MAX(MAP_VALUES(counts))))) AS auctions
  FROM q5_counts;
