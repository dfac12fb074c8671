-- The bids for auctions of a category, with the auction's columns.
CREATE TABLE q20_auctions AS SELECT id, LATEST_BY_OFFSET(itemName) AS itemName, LATEST_BY_OFFSET(seller) AS seller,
    LATEST_BY_OFFSET(category) AS category FROM auction GROUP BY id;
CREATE STREAM q20 AS SELECT b.auction AS auction, b.bidder AS bidder, b.price AS price, a.itemName AS itemName, a.seller AS seller
  FROM bid b JOIN q20_auctions a ON b.auction = a.id WHERE a.category = 10;
