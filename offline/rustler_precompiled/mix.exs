defmodule RustlerPrecompiled.MixProject do
  use Mix.Project

  def project do
    [
      app: :rustler_precompiled,
      # The version of the real package whose interface this one follows.
      version: "0.8.4",
      elixir: "~> 1.14",
      deps: [{:rustler, "~> 0.23", path: "../rustler", optional: true}]
    ]
  end

  def application do
    [extra_applications: [:logger, :crypto]]
  end
end
