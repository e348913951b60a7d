"""Uploads files to signed URLs and downloads them again, as programs with aiohttp do; prints what came back of each."""

import asyncio
import json
import os
import sys

import aiohttp
from yarl import URL

api = f"{os.environ['CONTRACTS_URL']}/api/v2.1/public/workspace/files"
key = {"client-id": os.environ["CLIENT_ID"], "client-secret": os.environ["CLIENT_SECRET"]}


async def there_and_back(session, name, address):
    """What is downloaded of a file of that name, where `address` makes the URLs of the texts that were signed."""
    content = f"The bytes of {name}".encode()
    wanted = {"files": [{"filename": name, "content_type": "text/plain"}]}
    async with session.post(f"{api}/uploads/", json=wanted, headers=key) as answer:
        [file] = (await answer.json())["files"]
    async with session.put(address(file["upload_url"]), data=content, headers={"content-type": "text/plain"}) as answer:
        if answer.status != 200:
            return [answer.status, await answer.text(), None]
    async with session.get(f"{api}/{file['file_id']}/", headers=key) as answer:
        signed = (await answer.json())["signed_url"]
    async with session.get(address(signed)) as answer:
        named = answer.content_disposition and answer.content_disposition.filename
        return [answer.status, await answer.text(), named]


async def main(names):
    async with aiohttp.ClientSession() as session:
        ways = {"as text": str, "as it stands": lambda text: URL(text, encoded=True)}
        return {
            way: [await there_and_back(session, name, address) for name in names] for way, address in ways.items()
        }


print(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
