/** Body of a small contract from the demo's template 101, for `svc contracts create --data -`. */
export const ndaContractJson = JSON.stringify({
  contract_template_id: 101,
  contract_name: "NDA",
  contract_data: {},
  counter_party_details: [
    {
      is_individual: false,
      organization_name: "Acme Inc.",
      organization_type: "Corporation",
      poc_details: { first_name: "Jo", last_name: "Doe", email: "jo@acme.example" },
    },
  ],
});
