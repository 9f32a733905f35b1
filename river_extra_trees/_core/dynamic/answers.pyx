"""What a cloud says of a point: averages over the predictive distributions of its leaves."""

from libc.string cimport memset

from .posterior cimport Predictive, predictive
from .gathering cimport find
from .leaves cimport faded
from .logistic cimport class_chances, fit_window
from .particles cimport Particles


cdef double clamped(Particles cloud, double mean) noexcept nogil:
    """No leaf answers outside the range of the targets seen, however far off x lies; 0 if none."""
    if cloud.lowest > cloud.highest:
        return 0.0
    return min(max(mean, cloud.lowest), cloud.highest)


cdef double predict_number(Particles cloud, object x) except? -1.0:
    """Mean over the particles of the predictive mean at x; 0 before the first sample."""
    cdef double total = 0.0
    cdef int visit
    cdef Predictive student
    find(cloud, x)
    for visit in range(cloud.n_visits):
        student = predictive(&cloud.model, faded(cloud, visit), cloud.v)
        total += cloud.visits[visit].share * clamped(cloud, student.mean)
    return clamped(cloud, total)


cdef list mixture(Particles cloud, object x):
    """(mean, squared scale, degrees of freedom, weight) per distinct leaf at x."""
    cdef int visit
    cdef Predictive student
    find(cloud, x)
    parts = []
    for visit in range(cloud.n_visits):
        student = predictive(&cloud.model, faded(cloud, visit), cloud.v)
        parts.append((clamped(cloud, student.mean), student.scale2, student.df,
                      cloud.visits[visit].share))
    return parts


cdef dict predict_proba(Particles cloud, object x):
    """Every label learned so far and its mean predictive probability at x."""
    cdef int visit, k
    cdef const double* chances
    cdef double total = 0.0
    cdef double* answer = cloud.model.prior      # scratch here: no other use in classification
    find(cloud, x)
    memset(answer, 0, cloud.model.width * sizeof(double))
    if cloud.slopes is not None:
        fit_window(cloud)
    for visit in range(cloud.n_visits):
        if cloud.slopes is not None:
            chances = class_chances(cloud, cloud.slopes, visit)
        else:
            chances = class_shares(cloud, visit)
        for k in range(cloud.model.n_classes):
            answer[k] += cloud.visits[visit].share * chances[k]
    for k in range(len(cloud.labels.labels)):
        total += answer[k]
    return {label: answer[<int>k] / total for k, label in enumerate(cloud.labels.labels)}


cdef const double* class_shares(Particles cloud, int visit) noexcept nogil:
    """Probabilities of the classes in a multinomial leaf that was found."""
    cdef const double* row = faded(cloud, visit)
    cdef double a = cloud.model.concentration
    cdef double whole = row[0] + a * cloud.model.n_classes
    cdef double* shares = cloud.row_other + cloud.model.width
    cdef int k
    for k in range(cloud.model.n_classes):
        shares[k] = (row[1 + k] + a) / whole
    return shares
