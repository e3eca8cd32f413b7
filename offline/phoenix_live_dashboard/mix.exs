defmodule Phoenix.LiveDashboard.MixProject do
  use Mix.Project

  def project do
    [
      app: :phoenix_live_dashboard,
      # The version of the real package whose interface this one follows.
      version: "0.8.0",
      elixir: "~> 1.14",
      deps: []
    ]
  end

  def application, do: [extra_applications: [:logger]]
end
