/** Request body for a contract from the straight-through template of the demo seed. */
export const contractRequest = {
  contract_template_id: 101,
  contract_name: "NDA with Acme",
  contract_data: {},
  counter_party_details: [
    {
      is_individual: false,
      organization_name: "Acme Inc.",
      poc_details: { first_name: "Jo", last_name: "Doe", email: "jo@acme.example" },
    },
  ],
};
