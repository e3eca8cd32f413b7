defmodule Mote.BehaviourTest do
  # The examples of the documentation.
  use ExUnit.Case, async: true
  doctest Mote.Behaviour
end
