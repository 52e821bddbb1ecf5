import { Box, Button, Group } from '@mantine/core';
import { Background, Controls, Handle, Position, ReactFlow, type Edge, type Node, type NodeProps, type ReactFlowInstance } from '@xyflow/react';
import { useEffect, useMemo, useState, type ReactElement } from 'react';

import { useT } from '../app/i18n.ts';
import { atOnce, layout, type Box as Part, type Workload } from './layout.ts';

/** The distances of columns and rows, and the size of a box as the style sheet has it, in pixels. */
const columnWidth = 230;
const rowHeight = 72;
const size = { width: 190, height: 58 };
/** Where arrows meet a box. With it and the size, boxes out of sight need not be drawn to be measured. */
const handles = [
  { type: 'target' as const, position: Position.Left, x: 0, y: size.height / 2 },
  { type: 'source' as const, position: Position.Right, x: size.width, y: size.height / 2 },
];
/** firstRows is how many rows are seen at first, where there are more: their text can still be read. */
const firstRows = 12;

type PartNode = Node<{ part: Part; heading: string; title: string }, 'part'>;

function PartBox({ data }: NodeProps<PartNode>): ReactElement {
  return (
    <div className="kairship-node" data-health={data.part.health}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <span className="kairship-dimmed">{data.heading}</span>
      <strong title={data.title}>{data.title}</strong>
      <span className="kairship-dimmed">{data.part.detail}</span>
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
}

const nodeTypes = { part: PartBox };

const fit = (nodes: PartNode[]) => ({ nodes, maxZoom: 1, padding: 0.1 });

/** Graph shows how the workload is propagated, from its template to its pods. */
export function Graph({ workload }: { workload: Workload }): ReactElement {
  const t = useT();
  const [steps, setSteps] = useState(0);
  const { nodes, first, edges, height, hidden } = useMemo(() => {
    const { boxes, arrows } = layout(workload, steps);
    const rows = Math.max(...boxes.map((b) => b.row)) + 1;
    const heading = (b: Part): string =>
      b.kind === 'folded' || b.kind === 'cluster' ? t('fleet.cluster') : b.kind === 'pods' ? t('fleet.pods') : t(`workload.${b.kind}`);
    const title = (b: Part): string =>
      b.kind === 'folded' ? t(b.health === undefined ? 'workload.moreClusters' : 'workload.foldedHealthy', { count: b.count ?? 0 }) : b.title || (b.kind === 'policy' ? t('workload.noPolicy') : b.title);
    const made: PartNode[] = boxes.map((part) => ({
      id: part.id,
      type: 'part',
      position: { x: part.column * columnWidth, y: (part.column < 4 ? (Math.min(rows, firstRows) - 1) / 2 : part.row) * rowHeight },
      ...size,
      measured: size,
      handles,
      data: { part, heading: heading(part), title: title(part) },
      draggable: false,
      connectable: false,
      ariaLabel: `${heading(part)}: ${title(part)} ${part.detail}`,
    }));
    const drawn: Edge[] = arrows.map(([source, target]) => ({ id: `${source}>${target}`, source, target }));
    // Folding keeps the height: a view that fits a higher graph would be out of sight in a lower one.
    const height = Math.min(640, Math.max(220, Math.max(rows, workload.placements.length) * rowHeight + 80));
    return { nodes: made, first: made.filter((n) => n.data.part.row < firstRows), edges: drawn, height, hidden: boxes.find((b) => b.kind === 'folded')?.count ?? 0 };
  }, [workload, steps, t]);
  const [flow, setFlow] = useState<ReactFlowInstance<PartNode>>();
  // The view moves when clusters are unfolded or folded, and stays where it is when something changes.
  useEffect(() => {
    void flow?.fitView(fit(first));
  }, [flow, steps]);
  return (
    <Box>
      {(hidden > 0 || steps > 0) && (
        <Group mb="xs">
          {hidden > 0 && (
            <Button size="compact-sm" variant="default" onClick={() => setSteps(steps + 1)}>
              {hidden <= atOnce ? t('workload.unfold') : t('workload.unfoldSome', { count: atOnce })}
            </Button>
          )}
          {steps > 0 && (
            <Button size="compact-sm" variant="default" onClick={() => setSteps(0)}>
              {t('workload.fold')}
            </Button>
          )}
        </Group>
      )}
      <Box h={height} className="kairship-graph">
        <ReactFlow
          nodes={nodes}
          edges={edges}
          nodeTypes={nodeTypes}
          onInit={setFlow}
          fitView
          fitViewOptions={fit(first)}
          minZoom={0.1}
          nodesConnectable={false}
          onlyRenderVisibleElements
          proOptions={{ hideAttribution: true }}
        >
          <Background gap={20} size={1} />
          <Controls showInteractive={false} />
        </ReactFlow>
      </Box>
    </Box>
  );
}
