"""Work on the state of a job: rescale, store upgrades, standby copies, error replay."""
