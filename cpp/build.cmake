# How the compiled modules of this repository are built: options, instruction sets, sanitizers.
# Included by CMakeLists.txt and paper/CMakeLists.txt.

set(BNEURALT_SANITIZE OFF CACHE STRING
  "Build with sanitizers: address (with undefined behaviour) or thread")
set(BNEURALT_SETS "baseline;avx2;avx512" CACHE STRING
  "Instruction sets to build, as far as the processor has them; the baseline always is")
set(BNEURALT_KERNEL_OPTIMIZATION "-O3" CACHE STRING
  "Optimization of the kernels; -O1 compiles faster")
option(BNEURALT_THREADS "Use threads; without them, everything runs in the calling thread" ON)
option(BNEURALT_MODULE "Build the Python module" ON)
option(BNEURALT_TESTS "Build a program that tests the kernels without Python" OFF)

if(BNEURALT_MODULE)
  # scikit-build-core sets SKBUILD_SABI_COMPONENT where the wheel is for the stable ABI.
  find_package(Python 3.11 REQUIRED
    COMPONENTS Interpreter Development.Module ${SKBUILD_SABI_COMPONENT})
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
    OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT)
  find_package(nanobind CONFIG REQUIRED)
endif()
if(BNEURALT_TESTS)
  enable_testing()
endif()
if(BNEURALT_THREADS)
  find_package(Threads REQUIRED)
else()
  add_compile_definitions(BNT_NO_THREADS)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)  # there are none, and not every compiler has a scanner
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# One object library of some sources for each instruction set, in a namespace of that name. The
# baseline comes first, so that whatever the standard library puts into all of them is taken from
# the set that every processor runs. Sets kernel_objects, and in sets_built the definitions that
# instruction_sets.hpp needs.
macro(add_kernels)
  set(kernel_sources ${ARGN})
  set(kernel_objects)
  set(sets_built)
  add_kernels_of(baseline 16)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    if("avx2" IN_LIST BNEURALT_SETS)
      add_kernels_of(avx2 32 -mavx2 -mfma)
      list(APPEND sets_built BNT_AVX2)
    endif()
    if("avx512" IN_LIST BNEURALT_SETS)
      add_kernels_of(avx512 64 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma
        -mprefer-vector-width=512 -Wno-uninitialized -Wno-maybe-uninitialized)  # GCC 12 warns of its own header
      list(APPEND sets_built BNT_AVX512)
    endif()
  endif()
endmacro()

macro(add_kernels_of isa vector_bytes)
  add_library(kernels_${isa} OBJECT ${kernel_sources})
  target_compile_definitions(kernels_${isa} PRIVATE BNT_ISA=${isa} BNT_VECTOR_BYTES=${vector_bytes})
  # Where the processors of the last ten years have a set of their own, the one for older ones only
  # has to compile soon. ARM has no other one.
  set(optimization ${BNEURALT_KERNEL_OPTIMIZATION})
  if("${isa}" STREQUAL "baseline" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND "avx2" IN_LIST BNEURALT_SETS)
    list(TRANSFORM optimization REPLACE "-O3" "-O2")
  endif()
  # Copies of functions for single arguments: longer to compile, and no kernel was measured faster.
  target_compile_options(kernels_${isa} PRIVATE
    ${optimization} $<$<CXX_COMPILER_ID:GNU>:-fno-ipa-cp-clone> -fno-math-errno -fno-trapping-math -fvisibility=hidden
    -Wall -Wextra -Wno-psabi -Wno-ignored-attributes ${ARGN})
  list(APPEND kernel_objects $<TARGET_OBJECTS:kernels_${isa}>)
endmacro()

# A Python module. Symbols are kept: a test looks which functions hold wide instructions, and
# profilers need them. STABLE_ABI is without effect before Python 3.12 and in free-threaded Pythons.
# The only global state is the choice of the instruction set, which is atomic, and what Python
# shares with it does not change: FREE_THREADED says so.
function(add_module name)
  nanobind_add_module(${name} NOMINSIZE NOSTRIP STABLE_ABI FREE_THREADED ${ARGN})
  get_target_property(libraries ${name} LINK_LIBRARIES)
  list(FILTER libraries INCLUDE REGEX "^nanobind")
  compile_as_one_file(${name} ${libraries})
  foreach(target ${name} ${libraries})  # see benchmarks/README.md, "Compiling"
    target_compile_options(${target} PRIVATE -O1)
  endforeach()
  finish_program(${name})
endfunction()

# For many small files that include the same large headers: together they take about half the time.
function(compile_as_one_file)
  set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
endfunction()

# A program of tests without Python.
function(add_core_tests name)
  add_executable(${name} ${ARGN})
  target_compile_options(${name} PRIVATE -O1 -Wall -Wextra)
  finish_program(${name})
  add_test(NAME ${name} COMMAND ${name})
endfunction()

function(finish_program name)
  if(BNEURALT_THREADS)
    target_link_libraries(${name} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  endif()
  if(BNEURALT_SANITIZE)
    if(BNEURALT_SANITIZE STREQUAL "thread")
      set(sanitizers -fsanitize=thread)
    else()
      set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=undefined)
    endif()
    foreach(target core kernels_baseline kernels_avx2 kernels_avx512 ${name})
      if(TARGET ${target})
        target_compile_options(${target} PRIVATE ${sanitizers} -fno-omit-frame-pointer -g1 -O1)
      endif()
    endforeach()
    target_link_options(${name} PRIVATE ${sanitizers})
  endif()
endfunction()
