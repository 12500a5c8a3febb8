// numpy's arrays as pointers, by the buffer protocol: a tenth of a microsecond each, where asking
// an array for its address costs a microsecond. Contiguous, and the caller keeps them alive.
#pragma once

#include <nanobind/nanobind.h>

namespace elasticgnn {

using Array = nanobind::handle;  // an array, or None

template <class T>
T* at(Array array) {
  if (array.is_none()) return nullptr;
  Py_buffer view;
  if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_ANY_CONTIGUOUS)) throw nanobind::python_error();
  void* const address = view.buf;
  const bool fits = view.itemsize == sizeof(T);
  PyBuffer_Release(&view);
  if (!fits) throw nanobind::type_error("array of another item size expected");
  return static_cast<T*>(address);
}

}  // namespace elasticgnn
