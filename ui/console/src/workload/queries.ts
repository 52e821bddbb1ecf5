import { graphql } from '../api/gql.ts';
import { FreshnessFields } from '../shared/Freshness.tsx';

/** WorkloadQuery is all that the head of the page, Why and the graph show. */
export const WorkloadQuery = graphql(
  `
    query Workload($instance: String!, $kind: WorkloadKind!, $namespace: String!, $name: String!) {
      instance(name: $instance) {
        workload(kind: $kind, namespace: $namespace, name: $name) {
          id
          kind
          namespace
          name
          health
          healthMessage
          suspended
          deleting
          images
          resourceVersion
          createdAt
          replicas { desired ready }
          template { replicas containers { name image } }
          viewerCan { update delete }
          policy { __typename namespace name viewerCan { update } }
          overridePolicies { __typename namespace name }
          binding { name clusters { name replicas } }
          placements {
            clusterName
            desired
            ready
            health
            message
            applied
            suspended
            evicting
            stale
            object { uid pods(first: 50) { name phase ready restarts } }
          }
          explanation {
            stage
            state
            summary
            steps {
              stage
              state
              summary
              since
              reasons { code message remedy clusterName pod { name } policy { namespace name viewerCan { update } } }
            }
          }
          freshness { ...FreshnessFields }
        }
      }
    }
  `,
  [FreshnessFields],
);

/** OneChanges reports that the workload changed; the page then asks again. What is selected is what is told. */
export const OneChanges = graphql(`
  subscription OneChanges($filter: WorkloadFilter) {
    workloadChanged(filter: $filter) {
      type
      workload {
        health
        healthMessage
        suspended
        deleting
        resourceVersion
        replicas { desired ready }
        policy { name }
        placements { clusterName desired ready health message object { pods(first: 50) { name phase ready restarts } } }
      }
    }
  }
`);

/** PodsQuery is the pods of all clusters. */
export const PodsQuery = graphql(`
  query WorkloadPods($instance: String!, $kind: WorkloadKind!, $namespace: String!, $name: String!) {
    instance(name: $instance) {
      viewerCan { proxy }
      workload(kind: $kind, namespace: $namespace, name: $name) {
        placements {
          clusterName
          object { pods(first: 100) { name uid phase ready restarts nodeName message createdAt containers { name type state } } }
        }
      }
    }
  }
`);

/** LastWordsQuery is what the containers of the pods that are a reason wrote in this run and in the one before. */
export const LastWordsQuery = graphql(`
  query LastWords($instance: String!, $kind: WorkloadKind!, $namespace: String!, $name: String!) {
    instance(name: $instance) {
      workload(kind: $kind, namespace: $namespace, name: $name) {
        explanation {
          steps {
            reasons {
              pod {
                name
                clusterName
                containers { name state termination { exitCode } lastTermination { exitCode } }
                now: logs(tail: 20) { lines { containerName line } omitted { containerName message } }
                before: logs(previous: true, tail: 20) { lines { containerName line } omitted { containerName message } }
              }
            }
          }
        }
      }
    }
  }
`);

/** LogLines follows what the pods of all clusters write. */
export const LogLines = graphql(`
  subscription LogLines($instance: String!, $kind: WorkloadKind!, $namespace: String!, $name: String!) {
    podLogs(instance: $instance, kind: $kind, namespace: $namespace, name: $name, tail: 100) {
      type
      time
      clusterName
      podName
      containerName
      line
      message
    }
  }
`);

/** ManifestQuery is the template, and where clusters differ from what Karmada sent. */
export const ManifestQuery = graphql(`
  query WorkloadManifest($instance: String!, $kind: WorkloadKind!, $namespace: String!, $name: String!) {
    instance(name: $instance) {
      workload(kind: $kind, namespace: $namespace, name: $name) {
        yaml
        placements {
          clusterName
          drift {
            drifted
            action
            message
            totalFields
            fields { path sent found manager { name } retained }
          }
        }
      }
    }
  }
`);

/** RevisionsQuery is the pod templates that the clusters keep. */
export const RevisionsQuery = graphql(`
  query WorkloadRevisions($instance: String!, $kind: WorkloadKind!, $namespace: String!, $name: String!) {
    instance(name: $instance) {
      workloadRevisions(kind: $kind, namespace: $namespace, name: $name) {
        message
        nodes { clusterName number createdAt changeCause images current overridden }
      }
    }
  }
`);

/** HistoryQuery is what happened to the workload. */
export const HistoryQuery = graphql(`
  query WorkloadHistory($instance: String!, $kind: WorkloadKind!, $namespace: String!, $name: String!) {
    instance(name: $instance) {
      workload(kind: $kind, namespace: $namespace, name: $name) {
        events(first: 50) { nodes { type reason message count lastSeen involvedKind involvedName } }
        timeline(first: 100) { nodes { at change clusterName field before after message user } }
      }
    }
  }
`);
