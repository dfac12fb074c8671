-- The average of the winning bids by category. A winning bid changes, and with it the average.
CREATE TABLE q4_auctions AS SELECT id, LATEST_BY_OFFSET(category) AS category, LATEST_BY_OFFSET(dateTime) AS opens,
    LATEST_BY_OFFSET(expires) AS expires FROM auction GROUP BY id;
CREATE TABLE q4_winning AS SELECT a.id AS id, LATEST_BY_OFFSET(a.category) AS category, MAX(b.price) AS final
  FROM bid b JOIN q4_auctions a ON b.auction = a.id
  WHERE b.dateTime BETWEEN a.opens AND a.expires GROUP BY a.id;
CREATE TABLE q4 AS SELECT category, AVG(final) AS average FROM q4_winning GROUP BY category;
