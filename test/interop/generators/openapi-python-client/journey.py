"""The calls of every generator's program, with the client that openapi-python-client makes."""

import json
import os

from contracts import Client as Contracts
from contracts.api.contracts import contracts_create, contracts_recipients, contracts_status
from contracts.models import CreateContractRequestInput, Detail
from router import Client as Router
from router.api.cluster_emails import cluster_emails_show
from router.api.clusters import clusters_list

routing = Router(base_url=os.environ["ROUTER_URL"])
key = {"client-id": os.environ["CLIENT_ID"], "client-secret": os.environ["CLIENT_SECRET"]}
api = Contracts(base_url=os.environ["CONTRACTS_URL"], headers=key)

unmapped = cluster_emails_show.sync_detailed("nobody", client=routing)
body = CreateContractRequestInput.from_dict(json.loads(os.environ["CONTRACT"]))
created = contracts_create.sync(client=api, body=body)
refused = contracts_status.sync_detailed("T-999", client=api)
assert isinstance(refused.parsed, Detail)

print(
    json.dumps(
        {
            "clusters": [cluster.cluster_id for cluster in clusters_list.sync(client=routing)],
            "unmapped": [unmapped.status_code, unmapped.parsed.detail],
            "created": contracts_status.sync(created.id, client=api).contract_status,
            "recipients": [
                item.recipient.user.email for item in contracts_recipients.sync(created.id, client=api).items
            ],
            "refused": [refused.status_code, refused.parsed.detail],
        }
    )
)
