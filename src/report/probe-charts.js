import { DASHED, DASH_DOTTED, DOTTED, SHORTEST_MS, megabytes, ms, perSecond, share } from './row-units.js';

/** @import { ChartPlan, Row } from './run-charts.js' */

/**
 * What the probes say: charts of this process, its machine, and the node.
 */

/** @returns {ChartPlan[]} */
export function generatorPlans() {
  return [
    {
      id: 'cpu',
      title: 'Time of this process',
      kind: 'lines',
      unit: 'percent',
      section: 'generator',
      series: [
        { label: 'CPU, of one core', color: 0, of: (row) => share(row, row.probes.self.cpuUs) },
        {
          label: 'event loop busy',
          color: 1,
          dash: DASHED,
          of: busyPercent,
        },
        { label: 'collecting garbage', color: 2, dash: DOTTED, of: (row) => share(row, row.probes.loop?.gcUs) },
      ],
    },
    {
      id: 'delay',
      title: 'Event loop: timers late by',
      kind: 'lines',
      unit: 'ms',
      section: 'generator',
      probe: 'loop',
      series: [
        { label: 'on average', color: 2, of: ({ probes }) => ms(probes.loop?.delayMeanUs) },
        { label: 'p99', color: 1, dash: DASH_DOTTED, of: ({ probes }) => ms(probes.loop?.delayP99Us) },
        { label: 'most', color: 4, dash: DOTTED, of: ({ probes }) => ms(probes.loop?.delayMaxUs) },
      ],
    },
    {
      id: 'memory',
      title: 'Resident memory',
      kind: 'lines',
      unit: 'megabytes',
      section: 'generator',
      series: [{ label: 'this process', color: 0, of: ({ probes }) => megabytes(probes.self.rssBytes) }],
    },
    {
      id: 'sockets',
      title: 'Sockets of this machine',
      kind: 'lines',
      unit: 'count',
      section: 'generator',
      probe: 'sockets',
      series: [
        { label: 'in TIME_WAIT', color: 1, of: ({ probes }) => probes.sockets?.timeWait },
        { label: 'local ports in use towards the endpoint', color: 0, dash: DASHED, of: portsInUse },
      ],
    },
    {
      id: 'connections',
      title: 'Connections opened',
      kind: 'lines',
      unit: 'perSecond',
      section: 'generator',
      series: [{ label: 'opened', color: 0, of: (row) => perSecond(row, row.probes.connections.opened) }],
    },
  ];
}

/** @param {Row} row */
function busyPercent({ startMs, endMs, probes: { loop } }) {
  return loop === null || endMs - startMs < SHORTEST_MS ? null : 100 * loop.utilization;
}

/** @param {Row} row */
function portsInUse({ probes: { sockets } }) {
  return sockets === null || sockets.endpoints.length === 0
    ? null
    : Math.max(...sockets.endpoints.map((endpoint) => endpoint.portsInUse));
}

/** @returns {ChartPlan[]} */
export function nodePlans() {
  return [
    {
      id: 'pool',
      title: "The node's pool",
      kind: 'stacked',
      unit: 'count',
      section: 'node',
      probe: 'pool',
      series: [
        { label: 'pending', color: 0, of: ({ probes }) => probes.pool?.pending },
        { label: 'queued, behind a missing nonce', color: 1, dash: DASHED, of: ({ probes }) => probes.pool?.queued },
      ],
    },
    {
      id: 'node-cpu',
      title: "The node's CPU, of one core",
      kind: 'lines',
      unit: 'percent',
      section: 'node',
      probe: 'node',
      series: [{ label: 'CPU', color: 0, of: (row) => share(row, row.probes.node?.cpuUs) }],
    },
    {
      id: 'node-memory',
      title: "The node's resident memory",
      kind: 'lines',
      unit: 'megabytes',
      section: 'node',
      probe: 'node',
      series: [{ label: 'resident', color: 2, of: ({ probes }) => megabytes(probes.node?.rssBytes) }],
    },
  ];
}
