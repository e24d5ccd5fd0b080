import Metrics
