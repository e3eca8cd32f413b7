defmodule Mote.SponsorSizeTest do
  use ExUnit.Case, async: true

  doctest Mote.Sponsor

  alias Mote.Sponsor

  test "the size of a pool is cores * utilisation * (1 + wait / compute), rounded" do
    cores = System.schedulers_online()
    assert Sponsor.size(wait: 0, compute: 5) == cores
    assert Sponsor.size(wait: 50, compute: 5.0) == 11 * cores
    assert Sponsor.size(utilisation: 0.5, wait: 30, compute: 10) == 2 * cores
    assert Sponsor.size(utilisation: 0.001, wait: 0, compute: 1) == 1
    assert Sponsor.size(wait: 1, compute: 1_000) == round(cores * 1.001)
  end

  test "mistakes are explained" do
    for {opts, message} <- [
          {[compute: 1], "expected :wait to be a number of at least 0, got: nil"},
          {[wait: -1, compute: 1], "expected :wait to be a number of at least 0, got: -1"},
          {[wait: 1], "expected :compute to be a number above 0, got: nil"},
          {[wait: 1, compute: 0], "expected :compute to be a number above 0, got: 0"},
          {[wait: 1, compute: "2"], "expected :compute to be a number above 0, got: \"2\""},
          {[wait: 1, compute: 1, utilisation: 0],
           "expected :utilisation to be a number above 0 and at most 1, got: 0"},
          {[wait: 1, compute: 1, utilisation: 1.5],
           "expected :utilisation to be a number above 0 and at most 1, got: 1.5"}
        ] do
      assert_raise ArgumentError, message, fn -> Sponsor.size(opts) end
    end

    for {opts, message} <- [
          {[wait: 1, compute: 1, cores: 4],
           ~r/^unknown key :cores in the options of Mote.Sponsor.size\/1; there are :wait,/},
          {:x, ~r/^expected the options of Mote.Sponsor.size\/1 to be a keyword list, got: :x/}
        ] do
      assert_raise ArgumentError, message, fn -> Sponsor.size(opts) end
    end
  end
end
