import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createHistogramSamples,
  formatMetrics,
  type MetricFamily,
} from "../../../emulator/control/metrics/counters.ts";

const families: readonly MetricFamily[] = [
  [
    "counter",
    "svc_requests",
    'Requests, "all" of them;\nC:\\svc',
    [{ labels: { service: 'a "b"\n\\c', class: "2xx" }, value: 3 }],
  ],
  ["counter", "process_cpu_seconds", "Time.", 0.25, "seconds"],
  ["gauge", "svc_clock_speed", "Speed.", 1],
  [
    "histogram",
    "svc_request_duration_seconds",
    "How long.",
    createHistogramSamples({ service: "router" }, [0.5, 1], [2, 1, 1], 4.5),
    "seconds",
  ],
];

describe("metrics exposition", () => {
  it("follows OpenMetrics with units and an end marker", () => {
    assert.equal(
      formatMetrics(families, "openMetrics"),
      `# TYPE svc_requests counter
# HELP svc_requests Requests, \\"all\\" of them;\\nC:\\\\svc
svc_requests_total{service="a \\"b\\"\\n\\\\c",class="2xx"} 3
# TYPE process_cpu_seconds counter
# UNIT process_cpu_seconds seconds
# HELP process_cpu_seconds Time.
process_cpu_seconds_total 0.25
# TYPE svc_clock_speed gauge
# HELP svc_clock_speed Speed.
svc_clock_speed 1
# TYPE svc_request_duration_seconds histogram
# UNIT svc_request_duration_seconds seconds
# HELP svc_request_duration_seconds How long.
svc_request_duration_seconds_bucket{service="router",le="0.5"} 2
svc_request_duration_seconds_bucket{service="router",le="1.0"} 3
svc_request_duration_seconds_bucket{service="router",le="+Inf"} 4
svc_request_duration_seconds_count{service="router"} 4
svc_request_duration_seconds_sum{service="router"} 4.5
# EOF
`,
    );
  });

  it("follows the older text format, with unescaped quotes in help", () => {
    assert.equal(
      formatMetrics(families, "plainText"),
      `# TYPE svc_requests_total counter
# HELP svc_requests_total Requests, "all" of them;\\nC:\\\\svc
svc_requests_total{service="a \\"b\\"\\n\\\\c",class="2xx"} 3
# TYPE process_cpu_seconds_total counter
# HELP process_cpu_seconds_total Time.
process_cpu_seconds_total 0.25
# TYPE svc_clock_speed gauge
# HELP svc_clock_speed Speed.
svc_clock_speed 1
# TYPE svc_request_duration_seconds histogram
# HELP svc_request_duration_seconds How long.
svc_request_duration_seconds_bucket{service="router",le="0.5"} 2
svc_request_duration_seconds_bucket{service="router",le="1.0"} 3
svc_request_duration_seconds_bucket{service="router",le="+Inf"} 4
svc_request_duration_seconds_count{service="router"} 4
svc_request_duration_seconds_sum{service="router"} 4.5
`,
    );
  });
});
