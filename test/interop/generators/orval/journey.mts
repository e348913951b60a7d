// The calls of every generator's program, with the client that orval makes. Its addresses are those of the documents.
import { type CreateContractRequest, contractsCreate, contractsRecipients, contractsStatus } from "./contracts.ts";
import { clusterEmailsShow, clustersList } from "./router.ts";

const { CLIENT_ID = "", CLIENT_SECRET = "", CONTRACT = "" } = process.env;
const key = { headers: { "client-id": CLIENT_ID, "client-secret": CLIENT_SECRET } };

/** The answer, if its status is the one that is expected. */
function having<Answer extends { status: number }, Status extends Answer["status"]>(answer: Answer, status: Status) {
  if (answer.status !== status) throw new Error(`${answer.status} instead of ${status}`);
  return answer as Extract<Answer, { status: Status }>;
}

const clusters = having(await clustersList(), 200).data;
const unmapped = having(await clusterEmailsShow("nobody"), 404);
const body: CreateContractRequest = JSON.parse(CONTRACT);
const created = having(await contractsCreate(body, key), 201).data;
const { contract_status } = having(await contractsStatus(created.id, key), 200).data;
const { items } = having(await contractsRecipients(created.id, key), 200).data;
const refused = having(await contractsStatus("T-999", key), 404);

process.stdout.write(
  JSON.stringify({
    clusters: clusters.map(({ cluster_id }) => cluster_id),
    unmapped: [unmapped.status, unmapped.data.detail],
    created: contract_status,
    recipients: items.map(({ recipient }) => recipient.user.email),
    refused: [refused.status, refused.data.detail],
  }),
);
