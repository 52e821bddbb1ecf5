package workload

// Template is what the template of a workload says itself: the replicas and
// containers that are stored in the instance, before policies and overrides.
type Template struct {
	// Replicas of a Deployment or StatefulSet, or of a custom workload that has spec.replicas; nil for
	// the other kinds.
	Replicas *int
	// Parallelism of a Job, or of the Jobs of a CronJob; nil for the other kinds.
	Parallelism *int
	// Containers and InitContainers are in the order of the pod template.
	Containers     []Container
	InitContainers []Container
}

// Container is a container of a pod template.
type Container struct {
	Name  string `json:"name,omitempty"`
	Image string `json:"image,omitempty"`
}

// Template returns what the template says itself.
func (w *Workload) Template() (*Template, error) {
	o, err := w.decoded()
	if err != nil {
		return nil, err
	}
	return templateOf(w.kind, o), nil
}

// templateOf reads the template of a workload of some kind.
func templateOf(kind Kind, o *Object) *Template {
	pod := o.podTemplate()
	t := &Template{Containers: pod.Spec.Containers, InitContainers: pod.Spec.InitContainers}
	if kind.Custom() {
		t.Replicas = intOf(o.Spec.Replicas)
		return t
	}
	switch kind {
	case KindDeployment, KindStatefulSet:
		t.Replicas = intOf(o.Spec.Replicas)
	case KindJob:
		t.Parallelism = intOf(o.Spec.Parallelism)
	case KindCronJob:
		t.Parallelism = intOf(o.Spec.JobTemplate.Spec.Parallelism)
	case KindDaemonSet, KindCustom:
	}
	return t
}

func intOf(n *int32) *int {
	if n == nil {
		return nil
	}
	return new(int(*n))
}

// podTemplate is the template of the pods, that of the Jobs' pods for a CronJob.
func (o *Object) podTemplate() podTemplate {
	if len(o.Spec.Template.Spec.Containers) == 0 {
		return o.Spec.JobTemplate.Spec.Template
	}
	return o.Spec.Template
}

// Images lists the images of the pod template without repetition: containers
// first, then init containers, in the order of the template.
func (o *Object) Images() []string {
	pod := o.podTemplate()
	images := make([]string, 0, len(pod.Spec.Containers)+len(pod.Spec.InitContainers))
	seen := make(map[string]struct{}, cap(images))
	for _, list := range [][]Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for _, c := range list {
			if _, dup := seen[c.Image]; dup || c.Image == "" {
				continue
			}
			seen[c.Image] = struct{}{}
			images = append(images, c.Image)
		}
	}
	return images
}
