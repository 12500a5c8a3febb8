"""What `elasticgnn demo` trains and draws; torch is loaded by the processes that train."""
