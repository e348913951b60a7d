"""A program with Authlib. It has no loop of its own for the device flow: this one is RFC 8628's."""

import os
import sys
import time

import requests
from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session

issuer = os.environ["SVC_ROUTER_URL"]
client_id = os.environ["SVC_OAUTH_CLIENT_ID"]
server = requests.get(f"{issuer}/.well-known/oauth-authorization-server").json()
begun = requests.post(server["device_authorization_endpoint"], data={"client_id": client_id}).json()
print(f"Open {begun['verification_uri']} and enter {begun['user_code']}", flush=True)

session = OAuth2Session(client_id, token_endpoint_auth_method="none")
interval = begun.get("interval", 5)
while True:
    time.sleep(interval)
    try:
        session.fetch_token(
            server["token_endpoint"],
            grant_type="urn:ietf:params:oauth:grant-type:device_code",
            device_code=begun["device_code"],
        )
        print("Signed in")
        break
    except OAuthError as error:
        if error.error == "slow_down":
            interval += 5
        elif error.error != "authorization_pending":
            sys.exit(f"Not signed in: {error.error}")
    except requests.RequestException as error:
        print(f"No answer: {error}", file=sys.stderr)
