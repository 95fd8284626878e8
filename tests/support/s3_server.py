"""A real S3-compatible server on loopback, in its own process: `python -m tests.support.s3_server` prints its address."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator

from tests.support.loopback import child_process

KEYS = {
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@contextlib.contextmanager
def running_s3(bucket: str = "audits") -> Iterator[dict[str, str]]:
    """Yields the variables that point S3's clients at a server with one bucket."""
    with child_process(__name__, bucket) as (address, _):
        yield {**KEYS, "AWS_ENDPOINT_URL": address}


def main() -> None:
    """Serves until its standard input closes."""
    import logging

    import boto3
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # not a line a request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    boto3.client(
        "s3",
        endpoint_url=address,
        aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
        region_name=KEYS["AWS_DEFAULT_REGION"],
        aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
    ).create_bucket(Bucket=sys.argv[1])
    print(json.dumps({"base_url": address}), flush=True)  # noqa: T201 - what the parent reads
    sys.stdin.read()


if __name__ == "__main__":
    main()
