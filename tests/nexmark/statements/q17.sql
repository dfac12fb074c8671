-- Statistics of the bids by auction and day.
CREATE TABLE q17 WITH (KEY_FORMAT='JSON') AS SELECT auction, FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd') AS day,
    COUNT(*) AS total_bids, MIN(price) AS min_price, MAX(price) AS max_price, AVG(price) AS avg_price, SUM(price) AS sum_price
  FROM bid GROUP BY auction, FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd');
