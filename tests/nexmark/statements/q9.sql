-- The winning bid of each auction.
CREATE TABLE q9_auctions AS SELECT id, LATEST_BY_OFFSET(itemName) AS itemName, LATEST_BY_OFFSET(dateTime) AS opens,
    LATEST_BY_OFFSET(expires) AS expires FROM auction GROUP BY id;
CREATE TABLE q9 AS SELECT a.id AS id, LATEST_BY_OFFSET(a.itemName) AS itemName,
    TOPK(b.price, b.bidder, b.dateTime, 1) AS winning
  FROM bid b JOIN q9_auctions a ON b.auction = a.id
  WHERE b.dateTime BETWEEN a.opens AND a.expires GROUP BY a.id;
