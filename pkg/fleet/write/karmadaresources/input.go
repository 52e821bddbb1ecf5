package karmadaresources

import (
	appsv1alpha1 "github.com/karmada-io/karmada/pkg/apis/apps/v1alpha1"
	autoscalingv1alpha1 "github.com/karmada-io/karmada/pkg/apis/autoscaling/v1alpha1"
	networkingv1alpha1 "github.com/karmada-io/karmada/pkg/apis/networking/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/fleet/karmadaresource"
	"github.com/kairship-io/kairship/pkg/fleet/write/specs"
)

// The inputs and payloads of each kind.
type (
	// CreateFederatedHPAInput is a FederatedHPA to create.
	CreateFederatedHPAInput = specs.CreateInput[autoscalingv1alpha1.FederatedHPASpec]
	// UpdateFederatedHPAInput is a change of a FederatedHPA.
	UpdateFederatedHPAInput = specs.UpdateInput[autoscalingv1alpha1.FederatedHPASpec]
	// DeleteFederatedHPAInput is a FederatedHPA to delete.
	DeleteFederatedHPAInput = specs.DeleteInput
	// CreatedFederatedHPA is a FederatedHPA that was created.
	CreatedFederatedHPA = specs.Written[karmadaresource.FederatedHPA]
	// UpdatedFederatedHPA is a FederatedHPA that was changed.
	UpdatedFederatedHPA = specs.Written[karmadaresource.FederatedHPA]
	// DeletedFederatedHPA is a FederatedHPA that was deleted.
	DeletedFederatedHPA = specs.Deleted[karmadaresource.FederatedHPA]
	// CreateCronFederatedHPAInput is a CronFederatedHPA to create.
	CreateCronFederatedHPAInput = specs.CreateInput[autoscalingv1alpha1.CronFederatedHPASpec]
	// UpdateCronFederatedHPAInput is a change of a CronFederatedHPA.
	UpdateCronFederatedHPAInput = specs.UpdateInput[autoscalingv1alpha1.CronFederatedHPASpec]
	// DeleteCronFederatedHPAInput is a CronFederatedHPA to delete.
	DeleteCronFederatedHPAInput = specs.DeleteInput
	// CreatedCronFederatedHPA is a CronFederatedHPA that was created.
	CreatedCronFederatedHPA = specs.Written[karmadaresource.CronFederatedHPA]
	// UpdatedCronFederatedHPA is a CronFederatedHPA that was changed.
	UpdatedCronFederatedHPA = specs.Written[karmadaresource.CronFederatedHPA]
	// DeletedCronFederatedHPA is a CronFederatedHPA that was deleted.
	DeletedCronFederatedHPA = specs.Deleted[karmadaresource.CronFederatedHPA]
	// CreateMultiClusterServiceInput is a MultiClusterService to create.
	CreateMultiClusterServiceInput = specs.CreateInput[networkingv1alpha1.MultiClusterServiceSpec]
	// UpdateMultiClusterServiceInput is a change of a MultiClusterService.
	UpdateMultiClusterServiceInput = specs.UpdateInput[networkingv1alpha1.MultiClusterServiceSpec]
	// DeleteMultiClusterServiceInput is a MultiClusterService to delete.
	DeleteMultiClusterServiceInput = specs.DeleteInput
	// CreatedMultiClusterService is a MultiClusterService that was created.
	CreatedMultiClusterService = specs.Written[karmadaresource.MultiClusterService]
	// UpdatedMultiClusterService is a MultiClusterService that was changed.
	UpdatedMultiClusterService = specs.Written[karmadaresource.MultiClusterService]
	// DeletedMultiClusterService is a MultiClusterService that was deleted.
	DeletedMultiClusterService = specs.Deleted[karmadaresource.MultiClusterService]
	// CreateFederatedResourceQuotaInput is a FederatedResourceQuota to create.
	CreateFederatedResourceQuotaInput = specs.CreateInput[policyv1alpha1.FederatedResourceQuotaSpec]
	// UpdateFederatedResourceQuotaInput is a change of a FederatedResourceQuota.
	UpdateFederatedResourceQuotaInput = specs.UpdateInput[policyv1alpha1.FederatedResourceQuotaSpec]
	// DeleteFederatedResourceQuotaInput is a FederatedResourceQuota to delete.
	DeleteFederatedResourceQuotaInput = specs.DeleteInput
	// CreatedFederatedResourceQuota is a FederatedResourceQuota that was created.
	CreatedFederatedResourceQuota = specs.Written[karmadaresource.FederatedResourceQuota]
	// UpdatedFederatedResourceQuota is a FederatedResourceQuota that was changed.
	UpdatedFederatedResourceQuota = specs.Written[karmadaresource.FederatedResourceQuota]
	// DeletedFederatedResourceQuota is a FederatedResourceQuota that was deleted.
	DeletedFederatedResourceQuota = specs.Deleted[karmadaresource.FederatedResourceQuota]
	// CreateWorkloadRebalancerInput is a WorkloadRebalancer to create.
	CreateWorkloadRebalancerInput = specs.CreateInput[appsv1alpha1.WorkloadRebalancerSpec]
	// UpdateWorkloadRebalancerInput is a change of a WorkloadRebalancer.
	UpdateWorkloadRebalancerInput = specs.UpdateInput[appsv1alpha1.WorkloadRebalancerSpec]
	// DeleteWorkloadRebalancerInput is a WorkloadRebalancer to delete.
	DeleteWorkloadRebalancerInput = specs.DeleteInput
	// CreatedWorkloadRebalancer is a WorkloadRebalancer that was created.
	CreatedWorkloadRebalancer = specs.Written[karmadaresource.WorkloadRebalancer]
	// UpdatedWorkloadRebalancer is a WorkloadRebalancer that was changed.
	UpdatedWorkloadRebalancer = specs.Written[karmadaresource.WorkloadRebalancer]
	// DeletedWorkloadRebalancer is a WorkloadRebalancer that was deleted.
	DeletedWorkloadRebalancer = specs.Deleted[karmadaresource.WorkloadRebalancer]
)
