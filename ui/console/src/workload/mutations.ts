import { graphql } from '../api/gql.ts';

export const Scale = graphql(`
  mutation Scale($input: ScaleWorkloadInput!) {
    scaleWorkload(input: $input) { workload { template { replicas } replicas { desired ready } } }
  }
`);

export const Restart = graphql(`
  mutation Restart($input: RestartWorkloadInput!) {
    restartWorkload(input: $input) { workload { resourceVersion } }
  }
`);

export const Pause = graphql(`
  mutation Pause($input: PauseWorkloadInput!) {
    pauseWorkload(input: $input) { workload { resourceVersion } }
  }
`);

export const Resume = graphql(`
  mutation Resume($input: ResumeWorkloadInput!) {
    resumeWorkload(input: $input) { workload { resourceVersion } }
  }
`);

export const SetImage = graphql(`
  mutation SetImage($input: SetImageInput!) {
    setImage(input: $input) { workload { template { containers { name image } } } }
  }
`);

export const RollBack = graphql(`
  mutation RollBack($input: RollbackWorkloadInput!) {
    rollbackWorkload(input: $input) { workload { template { containers { name image } } } }
  }
`);

export const Delete = graphql(`
  mutation Delete($input: DeleteResourceInput!) {
    deleteResource(input: $input) { deleted }
  }
`);
