import { examplePdf } from "../../api/contracts/shapes.ts";

/** Returns the smallest PDF that readers open: one empty page. */
export const createEmptyPdf = (): Buffer => Buffer.from(examplePdf, "base64");

export const contractDocument = {
  contract_template_id: 101,
  contract_name: "Mutual NDA with Acme",
  contract_data: {},
  counter_party_details: [
    {
      is_individual: false,
      organization_name: "Acme Inc.",
      organization_type: "Corporation",
      poc_details: { first_name: "Jo", last_name: "Doe", email: "jo@acme.example" },
    },
  ],
};
