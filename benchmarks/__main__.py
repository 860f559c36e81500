"""All speed tables, as `make bench` prints them."""

from benchmarks import core_speed, estimator_speed

core_speed.main()
print()
estimator_speed.main()
