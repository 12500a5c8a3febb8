"""Elastic message passing on a GPU (CUDA or HIP) in Triton: the route of device tensors.

Node rows are stored scaled (G = sF, U = s u, V = s div(Z)), so that a gather needs no scale and both
ends of an edge do the same arithmetic. A step is two launches, in each direction:

    smooth_nodes   U_i = gamma s_i x_i + (1 - gamma) G_i - smoothing s_i^2 sum_p w_p (G_i - G_j) - gamma V_i
    ascend_edges   a_p = z_p + beta (U_i - U_j),  z_p = project(a_p)
                   V_i <- s_i^2 sum_p w_p z_p,    G_i = U_i + gamma (V_i old - V_i)

Every slot p of node i computes its edge's row; the lower end alone stores it, into the other of
two buffers, so nothing races and no atomics are needed.
"""  # noqa: E501  formulas in one line each
