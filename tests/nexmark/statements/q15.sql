-- Statistics of the bids by day.
CREATE TABLE q15 AS SELECT FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd') AS day, COUNT(*) AS total_bids,
    SUM(CASE WHEN price < 10000000000 THEN 1 ELSE 0 END) AS rank1_bids,
    SUM(CASE WHEN price >= 10000000000 AND price < 1000000000000 THEN 1 ELSE 0 END) AS rank2_bids,
    SUM(CASE WHEN price >= 1000000000000 THEN 1 ELSE 0 END) AS rank3_bids,
    COUNT_DISTINCT(bidder) AS total_bidders,
    COUNT_DISTINCT(auction) AS total_auctions
  FROM bid GROUP BY FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd');
