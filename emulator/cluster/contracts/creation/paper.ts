import type { Call } from "../../../http/handler.ts";
import { tellNews } from "../../counterparties/activities.ts";
import { keepFile, newVersion } from "../../documents/inline-file.ts";
import { checkPdf } from "../../pdf/pdf.ts";
import { noteUnknownAnswers } from "../../templates/answers.ts";
import type { ClusterHandlers, ClusterWorld, Member } from "../../world.ts";
import { keptMetadata } from "../external-metadata.ts";
import { create } from "../lifecycle/transition.ts";
import { partiesOf } from "../parties.ts";
import { performer } from "../performer.ts";
import { listedContract } from "../records.ts";
import type { Review } from "../rows.ts";
import { newContract } from "./new-contract.ts";
import { acceptable, type PaperRequest, type Reviewer } from "./paper-checks.ts";
import { paperSignatories } from "./paper-signatories.ts";
import { signatoryRows } from "./template-signatories.ts";

/** Third-party paper by its two routes (the specification, Endpoints, rule 3; DECISIONS.md, C9). */
export const paperHandlers = {
  "paper.upload-for-review": ({ body }, call) => uploaded("review", body, call),
  "paper.upload-for-signature": ({ body }, call) => uploaded("sign", body, call),
} satisfies ClusterHandlers;

type PaperCall = ClusterWorld &
  Pick<
    Call<"invalid-fields" | "pdfs-busy" | "type-without-route" | "unknown-object-configuration", Member>,
    "caller" | "fail" | "finding"
  >;

async function uploaded(route: "review" | "sign", body: PaperRequest, call: PaperCall) {
  const { store, blobs, pdfs, clock, settings, cluster, caller, fail, finding } = call;
  const { workspace, user } = caller;
  const checked = await checkPdf(body.file_base64, pdfs, fail);
  // Looked at before the bytes are kept, so that a refused upload leaves nothing behind.
  const { type, file } = await store.read((view) => acceptable(view, workspace, route, body, checked, fail));
  noteUnknownAnswers(finding, "intake_form_data.", type.intake_form, body.intake_form_data ?? {});
  const blob = await keepFile(blobs, file);

  return store.transaction(`paper.upload-for-${route}`, async (tx) => {
    const at = clock.now();
    const { type, entity, party, reviewer, owner } = await acceptable(tx, workspace, route, body, checked, fail);
    const { parties, news } = await partiesOf(tx, [party], workspace, at);
    await tellNews(tx, { clock, caller }, news);
    const people = await paperSignatories(tx, workspace, body.creator_signatories ?? [], parties);
    const contract = newContract(tx, caller, at, {
      name: body.contract_name,
      kind: route === "review" ? "THIRD_PARTY_CONTRACT" : "SIGN_CONTRACT",
      contract_type_id: type.id,
      entity_id: entity?.id ?? null,
      counterparties: [...parties],
      signatories: await signatoryRows(tx, workspace, people, at),
      reviews: route === "review" ? [openReview(reviewer, at)] : [],
      intake_form: body.intake_form_data ? { data: body.intake_form_data, created_at: at } : null,
      external_metadata: keptMetadata(body.external_metadata),
      versions: [newVersion(tx, user, at, { file_name: body.file_name, blob })],
      business_user_id: owner?.id ?? user.id,
    });
    const by = performer(caller);
    const trigger = route === "review" ? "upload-for-review" : "upload-for-signature";
    return listedContract(tx, { cluster }, await create(tx, { clock, settings }, contract, trigger, { by }));
  });
}

const openReview = (reviewer: Reviewer, at: number): Review => ({
  id: 1,
  by: "internal",
  ...reviewer,
  requested_at: at,
  completed_at: null,
});
