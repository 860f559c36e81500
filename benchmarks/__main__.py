"""All speed tables, as `make bench` prints them."""

from benchmarks import core_speed, estimator_speed, many_speed

core_speed.main()
print()
many_speed.main()
print()
estimator_speed.main()
