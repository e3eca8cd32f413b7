ExUnit.start(assert_receive_timeout: 2_000)
