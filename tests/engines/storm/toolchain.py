"""What tests of Storm need of the machine: Java, Maven and a registry with jars."""

import pytest

from streamgauge.engines.storm.jars import java_command, maven_command, own_jar, storm_jars
from streamgauge.errors import InvalidInput


def require_java_and_maven():
    """Skip what needs them where one is missing."""
    try:
        java_command()
        maven_command()
    except InvalidInput as error:
        pytest.skip(str(error).splitlines()[0])


def require_jars():
    """Skip without Java or Maven; where both are there, jars that cannot be had are a failure."""
    require_java_and_maven()
    storm_jars()
    own_jar()
