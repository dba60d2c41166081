"""Time of a random tuple from its arrival to the end of its service, for tests of queues."""

import numpy as np

from streamgauge.models import transforms
from streamgauge.models.queueing import Moments, sojourn_transform, wait


def sojourn(queue):
    waited, service = wait(queue), np.asarray(queue.service_seconds)
    return Moments(
        mean=waited.mean + service,
        variance=waited.variance + service**2 * np.asarray(queue.service_scv),
    )


def sojourn_quantiles(queue, probabilities):
    """A row a probability."""
    moments = sojourn(queue)
    spread = np.sqrt(moments.variance)
    return transforms.quantiles(sojourn_transform(queue), probabilities, moments.mean, spread)
