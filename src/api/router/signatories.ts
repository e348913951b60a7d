import * as z from "zod";
import { assumed } from "../basis.ts";
import { json, operation } from "../operation.ts";
import { router } from "../services.ts";

export const ContractSignatoryDomainModel = z.strictObject({
  id: z.int(),
  uuid: z.string().nullish(),
  cluster: z.string(),
  signatory_hash: z.string(),
});

const NewSignatory = z.object({
  signatory_hash: z.string().describe("Hash of the signatory's e-mail"),
  cluster: z.string().describe("Cluster that the signatory's contract lives on"),
  uuid: z.string().nullish().describe("Id of the signatory at the cluster"),
});

export const addSignatories = operation({
  id: "signatories.add",
  service: router,
  summary: "Add signatories and the clusters of their contracts",
  description: "Accepts a list or one signatory. Repeating a hash and cluster returns the same row.",
  method: "POST",
  path: "/router/v1/contract_signatories/",
  auth: "none",
  request: { body: json(z.union([z.array(NewSignatory), NewSignatory])) },
  responses: { 201: json(z.array(ContractSignatoryDomainModel)) },
  failures: ["unknown-cluster"],
  unknownIsIn: "router clusters",
  cli: { command: "router add-signatories", columns: ["id", "cluster", "signatory_hash", "uuid"] },
  basis: assumed("The response is specified, the body is not (DECISIONS.md, R33)."),
  examples: [{ title: "Add one signatory", body: [{ signatory_hash: "5d41402a", cluster: "eu-1" }] }],
});
