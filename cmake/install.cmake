# For C++ users: cmake --install BUILD --component cpp --prefix WHERE, then find_package(massless).
# The Python package (scikit-build-core) installs the component `python` only.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS massless EXPORT massless-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cpp)
install(DIRECTORY include/massless DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT cpp)
foreach(layer base sym guard dispatch fake rules plan)
  install(DIRECTORY src/${layer} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/massless/src
    COMPONENT cpp FILES_MATCHING PATTERN "*.h")
endforeach()
install(EXPORT massless-targets NAMESPACE massless::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/massless COMPONENT cpp)
configure_package_config_file(cmake/massless-config.cmake.in massless-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/massless)
write_basic_package_version_file(massless-config-version.cmake COMPATIBILITY ExactVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/massless-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/massless-config-version.cmake cmake/torch.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/massless COMPONENT cpp)
