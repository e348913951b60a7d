"""Uploads to signed URLs by boto3, which adds the checksums; prints the content that is stored, or the error's code."""

import base64
import json
import os
import urllib.request

import boto3
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

api = f"{os.environ['CONTRACTS_URL']}/api/v2.1/public/workspace/files"
key = {"client-id": os.environ["CLIENT_ID"], "client-secret": os.environ["CLIENT_SECRET"]}


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {**key, "content-type": "application/json"})
    return json.load(urllib.request.urlopen(request))


def stored(**options):
    """What is stored after an upload with these options, or the code of the error."""
    [file] = ask(f"{api}/uploads/", {"files": [{"filename": "a.txt", "content_type": "text/plain"}]})["files"]
    config = Config(signature_version=UNSIGNED, retries={"max_attempts": 1})
    client = boto3.client("s3", endpoint_url=os.environ["CONTRACTS_URL"], region_name="eu-1", config=config)

    def use_signed_url(request, **_):
        request.url = file["upload_url"]

    client.meta.events.register("before-send.s3.PutObject", use_signed_url)
    try:
        client.put_object(Bucket="b", Key="k", Body=b"agreement", ContentType="text/plain", **options)
    except ClientError as error:
        return error.response["Error"]["Code"]
    return urllib.request.urlopen(ask(f"{api}/{file['file_id']}/")["signed_url"]).read().decode()


def encoded(length):
    return base64.b64encode(bytes(length)).decode()


print(
    json.dumps(
        {
            "as it sends by itself": stored(),
            "SHA-256": stored(ChecksumAlgorithm="SHA256"),
            "SHA-1": stored(ChecksumAlgorithm="SHA1"),
            "another MD5": stored(ContentMD5=encoded(16)),
            "another SHA-256": stored(ChecksumSHA256=encoded(32)),
            "another CRC-32": stored(ChecksumCRC32=encoded(4)),
        }
    )
)
