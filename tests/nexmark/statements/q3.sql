-- Who sells in the categories and states of interest? A table of auctions by seller joins the table of persons.
CREATE TABLE q3_persons AS SELECT id, LATEST_BY_OFFSET(name) AS name, LATEST_BY_OFFSET(city) AS city,
    LATEST_BY_OFFSET(state) AS state FROM person GROUP BY id;
CREATE TABLE q3_auctions AS SELECT id, LATEST_BY_OFFSET(seller) AS seller, LATEST_BY_OFFSET(category) AS category
  FROM auction GROUP BY id;
CREATE TABLE q3 AS SELECT a.id AS id, p.name AS name, p.city AS city, p.state AS state
  FROM q3_auctions a JOIN q3_persons p ON a.seller = p.id
  WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');
