cmake_minimum_required(VERSION 3.25) # fails when this CMake is too old; scripts/setup.sh runs it
