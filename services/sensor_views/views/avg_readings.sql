-- What each sensor reads on average.
CREATE MATERIALIZED VIEW avg_readings AS
  SELECT sensor, AVG(reading) AS avg_reading
  FROM readings
  GROUP BY sensor;
