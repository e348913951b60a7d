"""What programs in Python do with Authlib, by the metadata of RFC 8414, and with Werkzeug's reader of headers."""

import json
import os
from urllib.parse import parse_qs, urlparse

import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from joserfc import jwt
from joserfc.jwk import KeySet
from werkzeug.http import parse_options_header

issuer = os.environ["ROUTER_URL"]
callback = "http://127.0.0.1:8123/callback"
server = requests.get(f"{issuer}/.well-known/oauth-authorization-server").json()
keys = KeySet.import_key_set(requests.get(server["jwks_uri"]).json())


def browse(link, user):
    """What a browser does that follows the link and picks a user."""
    answer = requests.get(link, params={"svc_user": user}, allow_redirects=False)
    return answer.headers["location"]


def sign_in(user, client_id, **more):
    """The person whom the ID token names, and what userinfo says to a POST."""
    session = OAuth2Session(client_id, redirect_uri=callback, scope="openid email contracts:read", **more)
    verifier = {"code_verifier": generate_token(48)} if "code_challenge_method" in more else {}
    link, state = session.create_authorization_url(server["authorization_endpoint"], nonce="n", **verifier)
    back = browse(link, user)
    token = session.fetch_token(server["token_endpoint"], authorization_response=back, state=state, **verifier)
    claims = jwt.decode(token["id_token"], keys).claims
    person = session.post(f"{issuer}/api/v1/oauth/userinfo/").json()
    return [claims["sub"], claims["iss"] == issuer, person["email"], token["scope"]]


def device(user):
    """The device flow, with the endpoints that the metadata name."""
    session = OAuth2Session("demo-cli", token_endpoint_auth_method="none")
    begun = requests.post(server["device_authorization_endpoint"], data={"client_id": "demo-cli"}).json()
    control = {"Authorization": f"Bearer {os.environ['CONTROL_TOKEN']}"}
    grant = f"{issuer}/_emulator/device-grants/{begun['user_code']}"
    requests.post(grant, json={"status": "AUTHORIZED", "email": user}, headers=control).raise_for_status()
    session.fetch_token(
        server["token_endpoint"],
        grant_type="urn:ietf:params:oauth:grant-type:device_code",
        device_code=begun["device_code"],
    )
    return session.get(f"{issuer}/api/v1/oauth/userinfo/").json()["email"]


def request_uri():
    """A request by reference is refused in the protocol's words."""
    session = OAuth2Session("demo-cli", redirect_uri=callback, scope="openid")
    link, _ = session.create_authorization_url(server["authorization_endpoint"], request_uri="https://app.example/r")
    return parse_qs(urlparse(browse(link, "ada@northwind.example")).query)["error"]


disposition = requests.get(os.environ["DOWNLOAD_URL"]).headers["content-disposition"]
print(
    json.dumps(
        {
            "public": sign_in("eli@fabrikam.example", "demo-cli", token_endpoint_auth_method="none", code_challenge_method="S256"),
            "confidential": sign_in("ada@northwind.example", "portal", client_secret="s3cret:+%"),
            "device": device("eli@fabrikam.example"),
            "request_uri": request_uri(),
            "filename": parse_options_header(disposition)[1]["filename"],
        }
    )
)
