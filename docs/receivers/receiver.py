# Python 3.10 or later: pip install flask; SVC_WEBHOOK_HMAC_KEY=… python receiver.py
import base64
import hashlib
import hmac
import json
import os
import threading

from flask import Flask, request

if not os.environ.get("SVC_WEBHOOK_HMAC_KEY"):
    raise SystemExit("SVC_WEBHOOK_HMAC_KEY is required: the output of svc webhooks hmac-key")
KEY = base64.b64decode(os.environ["SVC_WEBHOOK_HMAC_KEY"])
app = Flask(__name__)
lock = threading.Lock()
seen = set()


def is_genuine(body: bytes, given: str) -> bool:
    expected = hmac.new(KEY, body, hashlib.sha512).hexdigest()
    return hmac.compare_digest(expected.encode(), given.encode("utf-8", "replace"))


@app.post("/hooks")
def hooks():
    body = request.get_data()
    if not is_genuine(body, request.headers.get("X-SVC-WEBHOOK-CONTENT-HASH", "")):
        return "", 401
    key = hashlib.sha256(body).hexdigest()
    with lock:
        if key not in seen:
            # Store first, then respond, and do the work afterwards. A real receiver stores the key, too.
            with open("events.jsonl", "a") as file:
                file.write(json.dumps(json.loads(body)) + "\n")
            seen.add(key)
    return "", 204


app.run(port=int(os.environ.get("PORT", "3000")))
