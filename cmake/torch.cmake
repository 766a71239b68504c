# The torch wheel of the Python that configures the build: headers, c10 and torch_cpu.
# torch's own TorchConfig.cmake asks for CUDA, MKL and protobuf packages that the wheel does not need.
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(
  COMMAND ${Python3_EXECUTABLE} -c
    "import importlib.util, os; print(os.path.dirname(importlib.util.find_spec('torch').origin))"
  OUTPUT_VARIABLE TORCH_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE found)
if(NOT found EQUAL 0)
  message(FATAL_ERROR "massless: no torch in ${Python3_EXECUTABLE}; install torch==2.13.0 there")
endif()
file(STRINGS ${TORCH_ROOT}/version.py version_line REGEX "^__version__")
if(NOT version_line MATCHES "'2\\.13\\.0")
  message(FATAL_ERROR "massless needs torch 2.13.0, found: ${version_line}")
endif()
set(TORCH_LIB_DIR ${TORCH_ROOT}/lib)

add_library(torch_cpu_only INTERFACE)
target_include_directories(torch_cpu_only SYSTEM INTERFACE
  ${TORCH_ROOT}/include ${TORCH_ROOT}/include/torch/csrc/api/include)
target_link_libraries(torch_cpu_only INTERFACE
  ${TORCH_LIB_DIR}/libc10.so ${TORCH_LIB_DIR}/libtorch_cpu.so)
target_compile_definitions(torch_cpu_only INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
