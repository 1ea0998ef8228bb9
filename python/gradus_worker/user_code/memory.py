# Limits the memory of this process, so that code that allocates without end fails in Python before the machine runs out of memory.
try:
    import resource
except ImportError:  # Windows
    resource = None


def limit_memory(most):
    """Limits the data of this process in bytes, but not its address space: libraries reserve more than they use. User code may raise the limit."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if soft == resource.RLIM_INFINITY or soft > most:
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def lift_limit():
    """Lifts the limit, so that a process that ran out of memory can say so. Returns the old limit in words."""
    if resource is None:
        return "all there is"
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    return "all there is" if soft == resource.RLIM_INFINITY else f"{soft / 2**30:.3g} GiB"
