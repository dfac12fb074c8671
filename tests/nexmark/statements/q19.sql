-- The ten highest bids of each auction.
CREATE TABLE q19 AS SELECT auction, TOPK(price, 10) AS prices FROM bid GROUP BY auction;
