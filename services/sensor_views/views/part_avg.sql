-- What the sensors of each area read on average.
CREATE MATERIALIZED VIEW part_avg AS
  SELECT area, AVG(reading) AS avg_reading
  FROM readings
  GROUP BY area;
