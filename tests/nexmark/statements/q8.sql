-- Who registered and opened an auction within the same 10 seconds?
CREATE TABLE q8_persons AS SELECT id, LATEST_BY_OFFSET(name) AS name
  FROM person WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY id;
CREATE TABLE q8_sellers AS SELECT seller, COUNT(*) AS auctions
  FROM auction WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY seller;
CREATE TABLE q8 AS SELECT p.id AS id, p.name AS name FROM q8_persons p JOIN q8_sellers s ON p.id = s.seller;
