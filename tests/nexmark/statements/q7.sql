-- The highest bid of each 10 seconds.
CREATE TABLE q7 AS SELECT 1 AS k, TOPK(price, auction, bidder, 1) AS highest
  FROM bid WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY 1;
