/** The smallest PDF that readers open: one empty page. */
export function emptyPdf(): Buffer {
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] >>",
  ];
  let text = "%PDF-1.4\n";
  const offsets = objects.map((object, i) => {
    const offset = text.length;
    text += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const rows = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${size} /Root 1 0 R >>\n`;
  return Buffer.from(`${text}${table}startxref\n${text.length}\n%%EOF\n`, "latin1");
}

/** The demo seed's straight-through template, and one counterparty. */
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
