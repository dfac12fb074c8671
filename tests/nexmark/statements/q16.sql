-- Statistics of the bids by channel and day.
CREATE TABLE q16 WITH (KEY_FORMAT='JSON') AS SELECT channel, FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd') AS day,
    MAX(FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'HH:mm')) AS minute, COUNT(*) AS total_bids,
    SUM(CASE WHEN price < 10000000000 THEN 1 ELSE 0 END) AS rank1_bids,
    COUNT_DISTINCT(bidder) AS total_bidders
  FROM bid GROUP BY channel, FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd');
